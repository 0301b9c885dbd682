import { createServer } from 'node:net'

const firstPort = 20_000
/** Below the ports that the system gives away by itself. */
const slots = 600
const slotPorts = 20

/**
 * The first of `count` neighbours that nobody listens on, at most 20. Processes that ask at the same time begin to look in different
 * places, as nobody listens on what was only found yet.
 */
export async function freePortRange(count: number): Promise<number> {
  if (count > slotPorts) throw new Error(`${count} ports are more than ${slotPorts}`)
  for (let look = 0; look < slots; look++) {
    const first = firstPort + ((process.pid + look) % slots) * slotPorts
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
