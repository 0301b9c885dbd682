import { getHeapStatistics } from 'node:v8'

/** How large the heap of this thread may become, in bytes, before the process ends: see `--max-old-space-size`. */
export function heapBytesMax(): number {
  return getHeapStatistics().heap_size_limit
}
