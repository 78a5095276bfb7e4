"""Cell suppression as agencies do it, and what it is worth: the cells to hide, and what an attacker makes of the rest.

rules        which cells are sensitive, and how far above its value each must stay open
linked       tables whose cells add up to each other
program      linear programs that start where the last one ended
audit        the interval that an attacker derives for every suppressed cell
secondary    further cells to hide: a simple method of our own
outside      programs of others, run on files
tauargus     further cells to hide by tau-Argus, where it is installed
gconfid      the same by G-Confid
publishers   a second table, safe by itself, that opens cells of the first
study        all of it for one attribute; run: from a spec to a closed folder; document: tables
"""
