"""Reach the parts of robotmem_ros that have no public interface; no other module of the benchmarks imports them."""
