"""What sees the truth: the confidential table, the engine that reads it, and the noise on its way out.

engines      where tables are read
maps         public map files: the group of every code
table        validation and finest cells; tally: exact sums
mechanisms   psi, pnc (probably no clipping), and the choice between them; answers: their table
preparing    every check that can be made before anything is spent
recording    the ledger around the noise; sealing: errors without confidential frames
measure      confidential table in, protected answers out
run          the same from a spec file
"""
