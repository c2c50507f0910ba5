"""Figures of the catalog of workloads: what counting costs, kinds of changes, the heat map."""
