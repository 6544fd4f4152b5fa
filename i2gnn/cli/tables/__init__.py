"""One module for each group of tables that `i2gnn reproduce` knows."""
