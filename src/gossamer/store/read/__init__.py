"""What readers ask of every back-end.

questions  `Question`: a report's question with the columns of its answer; `load_statements` reads its SQL
reports    SQL of the questions that both back-ends answer in the same words
"""
