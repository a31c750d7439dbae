"""Everything that a machine can judge, judged with one suite: kept results, pages of pairs, and a site of them."""
