import type { JsonObject } from '../../../../../src/api/json.ts'
import type { Names } from '../../../../../src/api/metadata/names.ts'
import { certificateRequest } from '../../../../support/fixtures/certificate-request.ts'
import type { CertificateRequestFixture } from '../../../../support/fixtures/certificate-request.ts'

/** Returns the body of a CertificateSigningRequest. */
export function requestBody(of: {
  readonly name: string
  readonly signerName: string
  readonly request: CertificateRequestFixture
  readonly usages: readonly string[]
  readonly expirationSeconds?: number
}): JsonObject {
  const { name, signerName, usages, expirationSeconds } = of
  const request = Buffer.from(certificateRequest(of.request)).toString('base64')
  const seconds = expirationSeconds === undefined ? {} : { expirationSeconds }
  return { metadata: { name }, spec: { signerName, request, usages, ...seconds } }
}

export const nodeUsages = ['digital signature', 'key encipherment', 'client auth'] as const

/** Returns the request of a node for its client certificate. */
export function nodeRequestBody(names: Names, node = 'n1', name = 'node-n1'): JsonObject {
  return requestBody({
    ...{ name, signerName: names.signers.apiserverClientNodeAgent, usages: nodeUsages },
    request: { commonName: `system:node:${node}`, organizations: ['system:nodes'] },
  })
}
