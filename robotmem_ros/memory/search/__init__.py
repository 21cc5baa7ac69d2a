"""From a query to its result: `pipeline` runs the stages in order, each in one file.

How a stage searches depends on what is known of the candidates. `candidates` counts first, so that the narrowest
condition is the one that is listed:

    known of them      how many              text                      vectors                    distance
    ids                few                   their texts, or the       all of theirs compared     all measured
                                             postings of these
    a superset of      2000, or one in       the postings of these,    theirs compared, or all;   R*Tree boxes; of
    ids                sixteen of all        the best ones checked     who has them, checked      these, checked
    conditions alone   more                  the postings of all,      all compared; who has      R*Tree boxes; all
                                             the best ones checked     them, checked              checked

Postings cover all but the newest memories, and those FTS5 searches. With a spatial sort and a text, `spatial` decides
first which memories the distance orders.
"""
