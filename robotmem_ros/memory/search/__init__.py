"""From a query to its result: `pipeline` runs the stages in order, each in one file.

Candidates are listed, or conditions that test ids (`candidates`). What each search does with them:

    if they are     text                            vectors                          distance
    listed          the postings of these           theirs compared                  all measured
    not listed      the postings of all, the best   all compared, the nearest ones   R*Tree boxes, the nearest
                    ones tested                     tested                           ones tested

Postings cover all but the newest memories, and those FTS5 searches. With a spatial sort and a text, `spatial` decides
first which memories the distance orders.
"""
