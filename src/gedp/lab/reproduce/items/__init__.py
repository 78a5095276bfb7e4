"""One module an item, each with an `ITEM`; `gedp.lab.reproduce.registry` has their order."""
