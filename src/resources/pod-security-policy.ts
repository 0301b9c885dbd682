import { equalJson, memberOf, objectMember, textMember, textsMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../registry/kinds/definition.ts'
import { withoutDisabled } from './common/disabled-members.ts'
import { textColumn } from './common/text-column.ts'
import { checkPodSecurityPolicy } from './policies/pod-security-policy-rules.ts'
import { podSecurityPolicySchema } from './policies/pod-security-policy-schema.ts'

const NOT_ENFORCED =
  'stored but not enforced by this release: label namespaces for Pod security admission instead'

/** Limits on what Pods may do, as before Pod security admission. */
export function podSecurityPolicyDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: 'policy',
    version: 'v1beta1',
    kind: 'PodSecurityPolicy',
    plural: 'podsecuritypolicies',
    singular: 'podsecuritypolicy',
    shortNames: ['psp'],
    categories: [],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: podSecurityPolicySchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: true,
    columns,
    deprecated: { since: '1.21', removed: '1.25', replacement: null },
    hooks: {
      prepareForCreate: (object) => withoutMountTypes(object, null),
      prepareForUpdate: (object, current) => withoutMountTypes(object, specOf(current)),
      validate: (object, found) => {
        checkPodSecurityPolicy(object, names, found)
      },
      warnings: (object, current) =>
        current !== null && equalJson(object['spec'], current['spec']) ? [] : [NOT_ENFORCED],
    },
    subresources: [],
  } satisfies ResourceDefinition)
}

/**
 * Drops the mount types of /proc, whose feature is off, unless the stored object has them.
 *
 * @param before null: the object is new
 */
function withoutMountTypes(object: AnyObject, before: JsonObject | null): AnyObject {
  return { ...object, spec: withoutDisabled(specOf(object), before, 'allowedProcMountTypes') }
}

function specOf(object: AnyObject): JsonObject {
  return objectMember(object, 'spec')
}

const ruleColumn = (name: string, part: string, description: string): Column =>
  textColumn(name, description, (object) => textMember(objectMember(specOf(object), part), 'rule'))

const flagColumn = (name: string, part: string, description: string): Column =>
  textColumn(name, description, (object) => String(memberOf(specOf(object), part) === true))

const listColumn = (name: string, part: string, description: string): Column =>
  textColumn(name, description, (object) => textsMember(specOf(object), part).join(','))

/** @source upstream `pkg/printers/internalversion`, printPodSecurityPolicy */
const columns: readonly Column[] = [
  nameColumn,
  flagColumn('Priv', 'privileged', 'Whether containers may be privileged.'),
  listColumn('Caps', 'allowedCapabilities', 'Capabilities that containers may add.'),
  ruleColumn('SELinux', 'seLinux', 'Rule for SELinux labels.'),
  ruleColumn('RunAsUser', 'runAsUser', 'Rule for users.'),
  ruleColumn('FsGroup', 'fsGroup', 'Rule for groups of volumes.'),
  ruleColumn('SupGroup', 'supplementalGroups', 'Rule for supplemental groups.'),
  flagColumn('ReadOnlyRootFs', 'readOnlyRootFilesystem', 'Whether root file systems must be read-only.'),
  listColumn('Volumes', 'volumes', 'Types of volumes that Pods may have.'),
]
