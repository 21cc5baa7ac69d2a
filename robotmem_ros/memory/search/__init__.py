"""From a query to its answer: one file for each stage, and `pipeline`, which runs them in order.

What a stage knows of the candidates decides how it goes about it. `candidates` counts first, so that the narrowest
condition is the one that is listed:

    known of them         how many             text                      vectors                    distance
    ids                   few                  their texts, or the       all of theirs compared     all measured
                                               postings of these
    among, not yet        up to one in         the postings of these,    theirs compared, or the    R*Tree boxes; of
    checked               sixteen of all       the best ones checked     index, deep and wide;      these, checked
                                                                         who has them, checked
    conditions alone      more                 the postings of all,      the index; who has them,   R*Tree boxes; all
                                               the best ones checked     checked                    checked

Postings cover all but the newest memories, and those FTS5 answers for (`text_candidates`); the index covers all but the
newest vectors, and those are compared one by one. With a spatial sort and a text, `match` decides first which memories
the distance orders.
"""
