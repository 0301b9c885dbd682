import { createServer } from 'node:net'

/** The first of `count` neighbours that nobody listens on. */
export async function freePortRange(count: number): Promise<number> {
  for (let first = 20_000 + (process.pid % 20_000); first < 60_000; first += count) {
    const free = await Promise.all(Array.from({ length: count }, (_, at) => isFree(first + at)))
    if (free.every(Boolean)) return first
  }
  throw new Error('no free ports')
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.on('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
