import { memberOf, objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import { ageColumn, nameColumn } from '../../registry/kinds/columns.ts'
import type { AnyObject, Column } from '../../registry/kinds/definition.ts'

/** The columns of `kubectl get nodes`. */
export function nodeColumns(names: Names): readonly Column[] {
  return [
    nameColumn,
    {
      name: 'Status',
      type: 'string',
      description: 'Whether the node is ready, and whether it is schedulable.',
      cell: statusText,
    },
    {
      name: 'Roles',
      type: 'string',
      description: 'Roles of the node, from its labels.',
      cell: (object) => rolesText(object, names),
    },
    ageColumn,
    infoColumn('Version', 'Version of the kubelet.', 'kubeletVersion', ''),
    addressColumn('Internal-IP', 'InternalIP', 'Its address within the cluster.'),
    addressColumn('External-IP', 'ExternalIP', 'Its address outside the cluster.'),
    wide(infoColumn('OS-Image', 'The operating system.', 'osImage', unknown)),
    wide(infoColumn('Kernel-Version', 'Version of the kernel.', 'kernelVersion', unknown)),
    wide(
      infoColumn(
        'Container-Runtime',
        'Container runtime and its version.',
        'containerRuntimeVersion',
        unknown,
      ),
    ),
  ]
}

const unknown = '<unknown>'
const none = '<none>'

function wide(column: Column): Column {
  return { ...column, priority: 1 }
}

function infoColumn(name: string, description: string, member: string, otherwise: string): Column {
  return {
    ...{ name, type: 'string', description },
    cell: (object) =>
      textMember(objectMember(objectMember(object, 'status'), 'nodeInfo'), member) || otherwise,
  }
}

function addressColumn(name: string, type: string, description: string): Column {
  return {
    ...{ name, type: 'string', description, priority: 1 },
    cell: (object) => {
      const addresses = objectsMember(objectMember(object, 'status'), 'addresses')
      const found = addresses.find((address) => textMember(address, 'type') === type)
      return found === undefined ? none : textMember(found, 'address')
    },
  }
}

function statusText(object: AnyObject): string {
  const conditions = objectsMember(objectMember(object, 'status'), 'conditions')
  const ready = conditions.findLast((condition) => textMember(condition, 'type') === 'Ready')
  let text = 'Unknown'
  if (ready !== undefined) text = textMember(ready, 'status') === 'True' ? 'Ready' : 'NotReady'
  const closed = memberOf(objectMember(object, 'spec'), 'unschedulable') === true
  return closed ? `${text},SchedulingDisabled` : text
}

function rolesText({ metadata }: AnyObject, names: Names): string {
  const prefix = names.labelUnder('node-role', '')
  const own = names.label('role')
  const roles = new Set<string>()
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    if (key.startsWith(prefix) && key.length > prefix.length) roles.add(key.slice(prefix.length))
    else if (key === own && value !== '') roles.add(value)
  }
  return roles.size === 0 ? none : [...roles].toSorted().join(',')
}
