import type { App } from '../calls/fastify-types.ts'
import { jsonBytes, sendJson } from '../responses/json-reply.ts'

export const CERTIFICATES_PATH = '/cluster/v1/certificates'

/** A certificate that a member uses, as operators see it. Times as in objects. */
export type ShownCertificate = {
  readonly use: string
  readonly source: string
  readonly subject: string
  readonly issuer: string
  /** SHA-256 of the certificate and of its public key, in hexadecimal. */
  readonly fingerprint: string
  readonly publicKey: string
  readonly notBefore: string
  readonly expires: string
  readonly renewal: {
    readonly byItself: boolean
    /** When it is renewed; null: not known. */
    readonly at: string | null
    /** Why it is not renewed by itself; null: it is. */
    readonly why: string | null
  }
}

/** The certificates of one member. */
export type CertificatesBody = { readonly name: string; readonly certificates: readonly ShownCertificate[] }

type CertificatesRoutesDependencies = {
  /** Unset: not served. */
  readonly certificates?: () => CertificatesBody
}

/** Serves the certificates that this member uses: for users that are authorized for the path. */
export function certificatesRoutes(app: App, { certificates }: CertificatesRoutesDependencies): void {
  if (certificates === undefined) return
  app.route({
    method: ['GET', 'HEAD'],
    url: CERTIFICATES_PATH,
    handler: (request, reply) => {
      sendJson(request, reply, jsonBytes(certificates()))
    },
  })
}
