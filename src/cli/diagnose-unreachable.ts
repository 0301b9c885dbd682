import { connect } from 'node:net'
import type { Endpoint } from '../credentials/endpoint.ts'

const connectMsMax = 1000

/**
 * Diagnoses a member that does not respond: one line with a remedy. The kernel accepts connections
 * for a process that is stopped or hangs.
 *
 * @param endpoint null: its client address is unknown
 */
export async function diagnoseUnreachable(name: string, endpoint: Endpoint | null): Promise<string> {
  if (endpoint === null) return `${name} was not contacted: its client address is unknown`
  const { url } = endpoint
  return (await acceptsConnections(new URL(url)))
    ? `${name} at ${url} accepts connections but does not respond, so its process hangs: continue it (kill -CONT) if ` +
        'it was stopped, otherwise kill it (kill -9) and restart it'
    : `${name} at ${url} accepts no connections: start it, or check the network in between`
}

function acceptsConnections({ hostname, port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    const socket = connect({ host, port: Number(port === '' ? 443 : port) })
    const end = (takes: boolean): void => {
      socket.destroy()
      resolve(takes)
    }
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
    socket.setTimeout(connectMsMax, () => end(false))
  })
}
