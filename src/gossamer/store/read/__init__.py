"""What readers ask of every back-end.

questions  `Question`: a report's question with the columns of its answer; `parse_statements` reads a back-end's SQL
"""
