"""The commands of the laboratory, which join those of gedp by an entry point."""

COMMANDS = {
    "compare": "Compare how close workflows come to the truth, on the same table and budget (internal).",
    "demo": "Run the whole chain on a synthetic state: release, microdata, tables, report.",
    "evaluate": "Measure how far a release is from the truth (internal; the results are confidential).",
    "reproduce": "Reproduce the paper's tables and figures, and set ours beside the printed ones.",
    "suppress": "Suppress cells as agencies do today, and attack what is left (internal; a baseline).",
    "synth": "Make synthetic establishments from public files.",
}
