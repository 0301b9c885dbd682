import { connect as connectTcp, isIP } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Endpoint } from '../../verify/endpoint.ts'

/** An open connection that speaks HTTP/1.1. @throws whatever keeps it from being one */
export function openSocket(endpoint: Endpoint, timeoutMs: number): Promise<Socket> {
  const url = new URL(endpoint.url)
  // Names of IPv6 hosts stand in brackets in a URL only.
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isTls = url.protocol === 'https:'
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port)
  const socket = isTls ? tlsSocket(endpoint, host, port) : connectTcp({ host, port, noDelay: true })
  return new Promise((resolve, reject) => {
    const fail = (cause: Error): void => {
      socket.destroy()
      reject(cause)
    }
    socket.once('error', fail)
    socket.setTimeout(timeoutMs, () => fail(new Error(`no connection within ${timeoutMs} ms`)))
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      socket.removeListener('error', fail)
      socket.removeAllListeners('timeout')
      socket.setTimeout(0)
      resolve(socket)
    })
  })
}

function tlsSocket(endpoint: Endpoint, host: string, port: number): Socket {
  const { authority, certificate, key, insecure } = endpoint
  const socket = connectTls({
    ...{ host, port, ALPNProtocols: ['http/1.1'], rejectUnauthorized: !insecure },
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(authority === null ? {} : { ca: authority }),
    ...(certificate === null ? {} : { cert: certificate }),
    ...(key === null ? {} : { key }),
  })
  socket.setNoDelay(true)
  return socket
}
