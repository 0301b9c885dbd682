import { createServer } from 'node:net'
import { parseAddress } from '../config/address.ts'
import { CliError } from './errors.ts'
import { localHost, plannedMembers, presentMembers, readConfig } from './local-cluster.ts'
import type { LocalClusterOptions } from './local-cluster.ts'
import { processState } from './process.ts'

type PortUse = { readonly port: number; readonly whose: string }

/**
 * Checks that the ports of all members to be started are free: for a new cluster before anything is
 * written, otherwise for members that are not running. Another process may still take one a moment
 * later.
 *
 * @throws CliError `failed` with the ports, and how to choose others
 */
export async function checkPorts(options: LocalClusterOptions): Promise<void> {
  const present = presentMembers(options.directory)
  const wanted = present.length === 0 ? newPorts(options) : portsOf(present)
  const taken: string[] = []
  for (const { port, whose } of wanted) {
    const why = await portError(port)
    if (why !== null) taken.push(`${port} (${whose}, ${why})`)
  }
  if (taken.length === 0) return
  const remedy =
    present.length === 0
      ? 'nothing was created; give others with --client-port and --peer-port (make up: PORT=)'
      : 'stop the processes that use them, then try again'
  throw new CliError(
    'failed',
    `these ports of ${localHost} are not available: ${taken.join(', ')}: ${remedy}`,
  )
}

function newPorts(options: LocalClusterOptions): readonly PortUse[] {
  return plannedMembers(options).flatMap(({ name, clientPort, peerPort, listenPort }) => [
    { port: clientPort, whose: `clients of ${name}` },
    { port: peerPort, whose: `peers of ${name}` },
    ...(listenPort === peerPort ? [] : [{ port: listenPort, whose: `peers of ${name}, behind the proxy` }]),
  ])
}

function portsOf(members: ReturnType<typeof presentMembers>): readonly PortUse[] {
  return members.flatMap((member) => {
    if (processState(member).kind === 'running') return []
    const peerAddress = readConfig(member.configPath)['peer-address']
    const peers = typeof peerAddress === 'string' ? [parseAddress(peerAddress).port] : []
    return [
      { port: member.clientPort, whose: `clients of ${member.name}` },
      ...peers.map((port) => ({ port, whose: `peers of ${member.name}` })),
    ]
  })
}

/** Binds the port for a moment. @returns null: it is free */
function portError(port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (cause: NodeJS.ErrnoException) => {
      resolve(words.get(cause.code ?? '') ?? cause.message)
    })
    server.listen(port, localHost, () => server.close(() => resolve(null)))
  })
}

const words: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'taken'],
  ['EACCES', 'not for this user'],
])
