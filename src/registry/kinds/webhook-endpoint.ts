import { memberOf, numberMember, objectMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { WebhookEndpoint } from '../../api/webhook-endpoint.ts'

/**
 * Returns the server that a `clientConfig` names, which was validated before it was stored; members
 * of the wrong type count as absent.
 */
export function webhookEndpointOf(config: JsonObject): WebhookEndpoint {
  const bundle = textMember(config, 'caBundle')
  const authority = bundle === '' ? null : Buffer.from(bundle, 'base64').toString('utf8')
  const url = textMember(config, 'url')
  if (memberOf(config, 'service') === undefined) {
    const host = URL.canParse(url) ? hostOf(url) : ''
    return { url, credentialsName: host, isService: false, authority }
  }
  const service = objectMember(config, 'service')
  const host = `${textMember(service, 'name')}.${textMember(service, 'namespace')}.svc`
  const port = numberMember(service, 'port') ?? 443
  const path = textMember(service, 'path')
  return {
    url: `https://${host}:${port}${path.startsWith('/') ? path : `/${path}`}`,
    credentialsName: port === 443 ? host : `${host}:${port}`,
    isService: true,
    authority,
  }
}

/**
 * Returns host and port as the URL spells them: a parsed URL would omit the port 443. Like the URL
 * parser, it treats a backslash as a slash.
 */
function hostOf(url: string): string {
  return /^[a-zA-Z]+:\/\/([^/\\?#]*)/.exec(url)?.[1] ?? ''
}
