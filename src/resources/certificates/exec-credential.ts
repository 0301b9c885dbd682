import type { Findings } from '../../api/errors/findings.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import { textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, spellPath } from '../../api/schema/path.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'

/**
 * Input and output of a client's credential plugin. It has no protobuf form.
 *
 * @source spec 5.5
 */
export function execCredentialSchema(version: 'v1' | 'v1beta1'): ObjectSchema {
  const of = `client.authentication.${version}`
  return {
    type: 'object',
    definition: `${of}.ExecCredential`,
    description: 'Credentials from an external program.',
    properties: {
      kind: { type: 'string', description: 'ExecCredential.' },
      apiVersion: { type: 'string', description: 'API version of the request and the response.' },
      spec: {
        type: 'object',
        definition: `${of}.ExecCredentialSpec`,
        description: 'Information about the requested credentials.',
        properties: {
          cluster: clusterSchema(of),
          interactive: {
            type: 'boolean',
            description: 'Whether the program may prompt the user.',
            always: true,
          },
        },
        ...(version === 'v1' ? { required: ['interactive'] } : {}),
        always: true,
      },
      status: {
        type: 'object',
        definition: `${of}.ExecCredentialStatus`,
        description: 'The credentials: a token, or a certificate with its key.',
        properties: {
          expirationTimestamp: {
            type: 'string',
            format: 'date-time',
            description: 'Expiration time of the credentials.',
          },
          token: { type: 'string', description: 'A bearer token.' },
          clientCertificateData: { type: 'string', description: 'Client certificate chain in PEM.' },
          clientKeyData: { type: 'string', description: 'Private key of the certificate in PEM.' },
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
    description: 'The cluster that the client connects to.',
    properties: {
      server: { type: 'string', description: 'URL of the server.', nonEmpty: true },
      'tls-server-name': {
        type: 'string',
        description: "Server name that the server's certificate must have.",
      },
      'insecure-skip-tls-verify': {
        type: 'boolean',
        description: "Whether the client skips verification of the server's certificate.",
      },
      'certificate-authority-data': {
        type: 'string',
        format: 'bytes',
        description: 'CA bundle that verifies the server: PEM, in base64.',
      },
      'proxy-url': { type: 'string', description: 'URL of the proxy.' },
      config: { type: 'any', description: 'Configuration of the cluster for the program.' },
    },
    required: ['server'],
  }
}

/** The status has a token, or both halves of a key pair. */
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
