"""Faults of the file system, one after the other: `python -m tests.faults`.

    inject      one command in a process of its own, in which strace makes the N-th system call of a kind fail, or kills
    scenarios   the commands, the folder in which each starts, and what must hold whatever fails

Every write, sync, rename, link, removal, cut and opening for writing of every scenario fails in turn: with a full disk
that stays full, with an error of the disk that comes once, and by kill -9 at that moment.
"""
