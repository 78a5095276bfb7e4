"""What a policy promises: in numbers (facts), in words (wording), on the terminal and on a page."""
