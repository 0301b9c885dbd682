import { getHeapStatistics } from 'node:v8'

/** Returns the maximum size of the heap of this thread, in bytes; see `--max-old-space-size`. */
export function heapBytesMax(): number {
  return getHeapStatistics().heap_size_limit
}
