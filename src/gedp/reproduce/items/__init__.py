"""One module an item, each with an `ITEM`; `gedp.reproduce.registry` has their order."""
