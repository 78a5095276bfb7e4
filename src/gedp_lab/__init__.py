"""Internal evidence: what agencies and reviewers run for themselves. Nothing of gedp imports it.

synth        synthetic establishments from public files
evaluate     how far a release is from the truth
compare      workflows beside each other, over many rehearsals
baselines    noise as agencies add it today, and what others propose
suppress     cell suppression as agencies do it today, and attacks on it
decide       the page for a decision between them and gedp
reproduce    the paper's tables and figures
cli          its commands, which join those of gedp
"""
