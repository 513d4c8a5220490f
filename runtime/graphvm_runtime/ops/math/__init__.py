"""Mathematics: element by element, products and reductions."""
