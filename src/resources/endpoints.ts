import { numberMember, objectsMember, textMember } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { textColumn } from './common/text-column.ts'
import { endpointsSchema } from './services/endpoints-schema.ts'

/** Addresses behind the Service of the same name. */
export function endpointsDefinition(): ResourceDefinition {
  return Object.freeze({
    group: '',
    version: 'v1',
    kind: 'Endpoints',
    plural: 'endpoints',
    singular: 'endpoints',
    shortNames: ['ep'],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: endpointsSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    putCreates: true,
    columns: [
      nameColumn,
      textColumn('Endpoints', 'The first addresses that are ready.', readyText),
      ageColumn,
    ],
    hooks: {},
    subresources: [],
  } satisfies ResourceDefinition)
}

const SHOWN_MAX = 3

function readyText(object: AnyObject): string {
  const shown: string[] = []
  let count = 0
  for (const subset of objectsMember(object, 'subsets')) {
    const addresses = objectsMember(subset, 'addresses')
    const ports = objectsMember(subset, 'ports')
    count += addresses.length * Math.max(ports.length, 1)
    for (const port of ports.length === 0 ? [null] : ports.slice(0, SHOWN_MAX)) {
      for (const address of addresses.slice(0, SHOWN_MAX - shown.length))
        shown.push(addressText(textMember(address, 'ip'), port === null ? null : numberMember(port, 'port')))
    }
  }
  if (count === 0) return '<none>'
  return shown.join(',') + (count > SHOWN_MAX ? ` + ${count - SHOWN_MAX} more...` : '')
}

function addressText(ip: string, port: number | null): string {
  if (port === null) return ip
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`
}
