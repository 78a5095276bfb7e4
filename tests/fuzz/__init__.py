"""A fuzzer that knows the structure of what gedp reads: `python -m tests.fuzz --seed 1 --cases 3000`.

    odd        odd values, and how to change documents, texts and bytes with them
    tables     CSV and Parquet tables, broken or merely unusual
    world      the folder that every case starts from: a table with canaries, a release, a ledger
    kinds      what is changed, and the commands that are then tried
    judge      what must never happen, whatever is changed
    crew       each case in a process of its own, two at a time, with a time limit

A case is a seed and a number, so that it can be repeated.
"""
