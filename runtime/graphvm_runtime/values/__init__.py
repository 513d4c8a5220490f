"""What handles and variants refer to: variables, queues, lists, arrays, datasets, iterators."""
