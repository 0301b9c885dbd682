import type { Findings } from '../../api/errors/findings.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import { textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, spellPath } from '../../api/schema/path.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'

/**
 * What a client asks the program that has its credentials, and what that prints. JSON alone: there is no protobuf
 * form of it.
 *
 * @source spec 5.5
 */
export function execCredentialSchema(version: 'v1' | 'v1beta1'): ObjectSchema {
  const of = `client.authentication.${version}`
  return {
    type: 'object',
    definition: `${of}.ExecCredential`,
    description: 'Credentials that another program has.',
    properties: {
      kind: { type: 'string', description: 'ExecCredential.' },
      apiVersion: { type: 'string', description: 'Version of this shape, the same in question and answer.' },
      spec: {
        type: 'object',
        definition: `${of}.ExecCredentialSpec`,
        description: 'For whom credentials are wanted.',
        properties: {
          cluster: clusterSchema(of),
          interactive: { type: 'boolean', description: 'Somebody can be asked.', always: true },
        },
        ...(version === 'v1' ? { required: ['interactive'] } : {}),
        always: true,
      },
      status: {
        type: 'object',
        definition: `${of}.ExecCredentialStatus`,
        description: 'The credentials: a token, or a certificate with its key.',
        properties: {
          expirationTimestamp: { type: 'string', format: 'date-time', description: 'Until when they hold.' },
          token: { type: 'string', description: 'A bearer token.' },
          clientCertificateData: { type: 'string', description: 'A certificate in PEM; issuers may follow.' },
          clientKeyData: { type: 'string', description: 'Its key in PEM.' },
        },
        check: checkStatus,
      },
    },
  }
}

function clusterSchema(of: string): ObjectSchema {
  return {
    type: 'object',
    definition: `${of}.Cluster`,
    description: 'Whom the client wants to speak to.',
    properties: {
      server: { type: 'string', description: 'URL of the server.', nonEmpty: true },
      'tls-server-name': { type: 'string', description: 'The name that its certificate has to have.' },
      'insecure-skip-tls-verify': { type: 'boolean', description: 'Its certificate is not looked at.' },
      'certificate-authority-data': {
        type: 'string',
        format: 'bytes',
        description: 'Who vouches for it: PEM, in base64.',
      },
      'proxy-url': { type: 'string', description: 'By way of whom it is reached.' },
      config: { type: 'any', description: 'What the configuration of the client says to the program.' },
    },
    required: ['server'],
  }
}

/** A token, or both halves of a key pair. */
function checkStatus(status: JsonObject, at: Path | null, found: Findings): void {
  const [token, certificate, key] = ['token', 'clientCertificateData', 'clientKeyData'].map((name) =>
    textMember(status, name),
  ) as [string, string, string]
  if ((certificate === '') !== (key === '')) {
    found.add(required(fieldAt(at, certificate === '' ? 'clientCertificateData' : 'clientKeyData')))
    return
  }
  if (token !== '' || certificate !== '') return
  found.add(invalid(spellPath(at), '...', 'must have a token, or a certificate with its key'))
}
