import { connect } from 'node:net'
import type { Endpoint } from './member-client.ts'

const connectMsMax = 1000

/**
 * Why a member gave no answer, as far as it can be seen from here, and what to do: one line. A process that is stopped, or
 * hangs, still has its connections taken by the system.
 *
 * @param endpoint null: it is not known where clients dial it
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
