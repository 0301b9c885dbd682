import { connect as connectTcp, isIP } from 'node:net'
import type { Socket } from 'node:net'
import { TLSSocket, connect as connectTls } from 'node:tls'
import { tlsOptions } from '../../../src/credentials/endpoint.ts'
import type { ResolvedEndpoint } from '../../../src/credentials/endpoint.ts'

/** Protocol names of ALPN. @source RFC 7301, RFC 9113 section 3.2 */
export type AlpnProtocol = 'http/1.1' | 'h2'

/** Opens a connection with that protocol. @throws the error of the connection or handshake */
export function openSocket(
  endpoint: ResolvedEndpoint,
  timeoutMs: number,
  protocol: AlpnProtocol = 'http/1.1',
): Promise<Socket> {
  const url = new URL(endpoint.url)
  // Brackets around IPv6 addresses occur in URLs only.
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isTls = url.protocol === 'https:'
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port)
  const socket = isTls ? tlsSocket(endpoint, host, port, protocol) : connectTcp({ host, port, noDelay: true })
  return new Promise((resolve, reject) => {
    const fail = (cause: Error): void => {
      socket.destroy()
      reject(cause)
    }
    socket.once('error', fail)
    socket.setTimeout(timeoutMs, () => fail(new Error(`no connection within ${timeoutMs} ms`)))
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      // Without TLS or ALPN, the protocol is HTTP/1.1.
      if (protocol === 'h2' && !(socket instanceof TLSSocket && socket.alpnProtocol === 'h2')) {
        fail(new Error('the server does not support HTTP/2 here'))
        return
      }
      socket.removeListener('error', fail)
      socket.removeAllListeners('timeout')
      socket.setTimeout(0)
      resolve(socket)
    })
  })
}

function tlsSocket(
  endpoint: ResolvedEndpoint,
  host: string,
  port: number,
  protocol: AlpnProtocol,
): TLSSocket {
  const socket = connectTls({
    ...{ host, port, ALPNProtocols: [protocol] },
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...tlsOptions(endpoint, endpoint.credentials),
  })
  socket.setNoDelay(true)
  return socket
}
