import { connect } from 'node:net'
import type { Endpoint } from './member-client.ts'

const connectMsMax = 1000

/**
 * Diagnoses a member that does not respond: one line with a remedy. The kernel accepts connections
 * for a process that is stopped or hangs.
 *
 * @param endpoint null: its client address is unknown
 */
export async function whySilent(name: string, endpoint: Endpoint | null): Promise<string> {
  if (endpoint === null) return `${name} was not asked: it is not known where clients dial it`
  const { url } = endpoint
  return (await takesConnections(new URL(url)))
    ? `${name} at ${url} takes connections and gives no answer, so its process hangs: wake it (kill -CONT) where ` +
        'somebody stopped it, else end it (kill -9) and start it again'
    : `${name} at ${url} takes no connections: start it, or look what is between it and this machine`
}

function takesConnections({ hostname, port }: URL): Promise<boolean> {
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
