import { createServer } from 'node:net'
import { markVariable } from '../runner/marked-processes.ts'

/**
 * All below the ports that the system gives away by itself: a member that is down for a while would find its own taken by
 * somebody's connection.
 */
const firstPort = 20_000
const slots = 600
const slotPorts = 20
const firstSinglePort = 10_000
const singlePorts = 10_000
const singlePortsEach = 100
/** How many of them this process looked at. */
let looked = 0

/**
 * Nobody listens yet on what was only found: so files that run at the same time look in different places. Those of one run are
 * numbered; a process that runs by itself goes by its id.
 */
function place(): number {
  const [runner, file] = (process.env[markVariable] ?? '').split('.').map(Number)
  return runner !== undefined && file !== undefined ? 37 * runner + file : process.pid
}

/** The first of `count` neighbours that nobody listens on, at most 20. */
export async function freePortRange(count: number): Promise<number> {
  if (count > slotPorts) throw new Error(`${count} ports are more than ${slotPorts}`)
  for (let look = 0; look < slots; look++) {
    const first = firstPort + ((3 * place() + look) % slots) * slotPorts
    const free = await Promise.all(Array.from({ length: count }, (_, at) => isFree(first + at)))
    if (free.every(Boolean)) return first
  }
  throw new Error('no free ports')
}

/** Ports that nobody listens on at the moment, and that this process did not give away lately. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  for (let look = 0; ports.length < count && look < singlePorts; look++) {
    const port = firstSinglePort + ((place() * singlePortsEach + looked++) % singlePorts)
    if (await isFree(port)) ports.push(port)
  }
  if (ports.length < count) throw new Error('no free ports')
  return ports
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.on('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
