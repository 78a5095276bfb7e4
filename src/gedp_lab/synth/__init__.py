"""Synthetic establishments from public data: the paper's appendix "Generation of Synthetic Evaluation Data".

In reading order: `states` (code list), `cells` (the table every source makes), `qcew`
(cells from the published Quarterly Census of Employment and Wages), `demo` (cells from nothing), `apportion`
(whole numbers that add up), `spreads` and `establishments` (cells to establishments), `sizes`, `shape` and
`plots` (what came out).
"""
