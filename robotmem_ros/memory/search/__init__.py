"""From a query to its result: `pipeline` runs the stages in order, each in one file.

How a stage searches depends on what is known of the candidates. `candidates` counts first, so that the narrowest
condition is the one that is listed:

    known of them      how many              text                      vectors                    distance
    ids                few                   their texts, or the       all of theirs compared     all measured
                                             postings of these
    a superset of      2000, or one in       the postings of these,    theirs compared, or the    R*Tree boxes; of
    ids                sixteen of all        the best ones checked     index, deep and wide;      these, checked
                                                                       who has them, checked
    conditions alone   more                  the postings of all,      the index; who has them,   R*Tree boxes; all
                                             the best ones checked     checked                    checked

Postings cover all but the newest memories, and those FTS5 searches; the index covers all but the newest vectors, and
those are compared one by one. With a spatial sort and a text, `spatial` decides first which memories the distance
orders.
"""
