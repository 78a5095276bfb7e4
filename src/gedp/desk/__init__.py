"""A local web page and an API where anybody makes tables of a release, or looks at those of a package.

question   what is asked for, read from an address
source     what the page and the API may ask, whatever is behind them
catalogue  a release: keys and their levels, codes, figures; what was protected and how
making     its tables, by the code of `gedp tabulate`
package    a package: finished tables, as published
tables     the tables, each made once by few workers
shown      a table as people see it: rows by columns, sorted, in parts
levels     how errors change from level to level
command    the `gedp tabulate` that makes the same table
guard      what is refused before anybody looks at it, and what every answer carries
openapi    the description of the API
page       what of the page does not change
app        the routes
connection one connection of the web server, which ends if nothing comes of it
server     the web server
"""
