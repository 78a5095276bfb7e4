"""What sees the truth: the confidential table, the engine that reads it, and the noise on its way out.

engines      where tables are read
maps         public map files: the group of every code
table        validation and finest cells; tally: exact sums
mechanisms   psi and pnc (probably no clipping), at one price; varied: at many
group_sums   sums by public groups; drawings: single establishments; measures, addends: classes and combinations
preparing    every check that can be made before anything is spent; pools: what individual accounting may spend
answering    every answer: by the paper's rule (priced), by individual accounting (individual); answers: their tables
recording    the ledger around the noise; sealing: errors without confidential frames
measure      confidential table in, protected answers out
run          the same from a spec file
"""
