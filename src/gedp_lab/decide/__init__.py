"""The page for a decision: what is used today and what others propose, beside gedp, on the same table. Internal.

gather    comparison, suppression and attacks together
words     what each method promises, in a sentence
sizes     errors by size of cell
tables    rows for the page and for the paper's claims
page      one self-contained page
"""
