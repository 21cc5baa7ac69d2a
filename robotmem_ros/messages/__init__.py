"""The verbs as services: one table, and both ways between values of the core and messages, for a node and its clients.

`verbs` is the table. `requests` fills requests with arguments and reads them, `responses` fills responses with results
and reads them, and `fields` has what holds of each type of field.
"""
