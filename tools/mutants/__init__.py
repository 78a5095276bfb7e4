"""Mutation testing: small changes to the code that the promise rests on, one at a time; do the tests notice?"""
