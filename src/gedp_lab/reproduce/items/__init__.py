"""One module per item of the paper, each with an `ITEM`. The first paragraph of its docstring is its command's help."""
