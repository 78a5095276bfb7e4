"""Establishments over several quarters: some open, some close, some move, the others grow or shrink smoothly.

In reading order: `panel` (establishments of one quarter), `rates`, `turnover` (who closes, moves and opens), `growth`
(jobs and wages of the next quarter), `write` (one file per quarter).
"""
