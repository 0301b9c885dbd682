import { flag, int32, listOf, maybe, part, struct, text, texts } from '../../api/schema/build.ts'
import { flowStatus } from './flow-conditions.ts'
import {
  checkAccount,
  checkLevelName,
  checkMethod,
  checkPathRule,
  checkResourceRule,
  checkRules,
  checkSubject,
} from './flow-schema-rules.ts'

/** Required. The check of the struct refuses an empty value, in upstream's words. */
const checked = { required: true, always: true } as const
const checkedSet = { ...checked, listType: 'set' } as const

const subjectSchema = struct(
  'flowcontrol.v1beta2.Subject',
  'A caller: a user, a group or a service account.',
  {
    kind: text(1, 'Kind of the caller: User, Group or ServiceAccount.', checked),
    user: maybe(
      2,
      struct('flowcontrol.v1beta2.UserSubject', 'A user.', {
        name: text(1, 'Name of the user; * for all.', { required: true }),
      }),
      'The user.',
    ),
    group: maybe(
      3,
      struct('flowcontrol.v1beta2.GroupSubject', 'A group of users.', {
        name: text(1, 'Name of the group; * for all.', { required: true }),
      }),
      'The group.',
    ),
    serviceAccount: maybe(
      4,
      struct(
        'flowcontrol.v1beta2.ServiceAccountSubject',
        'A service account.',
        {
          namespace: text(1, 'Namespace of the account.', checked),
          name: text(2, 'Name of the account; * for all.', { required: true }),
        },
        { check: checkAccount },
      ),
      'The service account.',
    ),
  },
  { check: checkSubject },
)

const resourceRuleSchema = struct(
  'flowcontrol.v1beta2.ResourcePolicyRule',
  'Requests for resources.',
  {
    verbs: texts(1, 'Verbs; * for all.', checkedSet),
    apiGroups: texts(2, 'API groups; * for all.', checkedSet),
    resources: texts(3, 'Resources, such as pods/status; * for all.', checkedSet),
    clusterScope: flag(4, 'Whether requests without a namespace match.'),
    namespaces: texts(5, 'Namespaces; * for all.', { always: true, listType: 'set' }),
  },
  { check: checkResourceRule },
)

const pathRuleSchema = struct(
  'flowcontrol.v1beta2.NonResourcePolicyRule',
  'Requests for other paths.',
  {
    verbs: texts(1, 'Verbs; * for all.', checkedSet),
    nonResourceURLs: texts(6, 'Paths; a trailing * matches all paths below.', checkedSet),
  },
  { check: checkPathRule },
)

const rulesSchema = struct(
  'flowcontrol.v1beta2.PolicyRulesWithSubjects',
  'Callers, and those of their requests that match.',
  {
    subjects: listOf(1, subjectSchema, 'The callers.', { ...checked, listType: 'atomic' }),
    resourceRules: listOf(2, resourceRuleSchema, 'Requests for resources.', { listType: 'atomic' }),
    nonResourceRules: listOf(3, pathRuleSchema, 'Requests for other paths.', { listType: 'atomic' }),
  },
  { check: checkRules },
)

const specSchema = struct('flowcontrol.v1beta2.FlowSchemaSpec', 'Requests and their priority level.', {
  priorityLevelConfiguration: part(
    1,
    struct(
      'flowcontrol.v1beta2.PriorityLevelConfigurationReference',
      'Reference to a priority level.',
      { name: text(1, 'Name of the priority level.', checked) },
      { check: checkLevelName },
    ),
    'The priority level.',
    checked,
  ),
  matchingPrecedence: int32(
    2,
    'Of the schemas that match a request, the one with the lowest value applies.',
    {
      ...{ always: true, default: 1000 },
    },
  ),
  distinguisherMethod: maybe(
    3,
    struct(
      'flowcontrol.v1beta2.FlowDistinguisherMethod',
      'How flows within a schema are distinguished.',
      { type: text(1, 'ByUser or ByNamespace.', checked) },
      { check: checkMethod },
    ),
    'Distinguishes the flows of the schema.',
  ),
  rules: listOf(4, rulesSchema, 'Requests that match; without rules, no request matches.', {
    listType: 'atomic',
  }),
})

export const flowSchemaSchema = struct(
  'flowcontrol.v1beta2.FlowSchema',
  'Assigns requests to a priority level.',
  {
    spec: part(2, specSchema, 'Requests and their priority level.'),
    status: part(3, flowStatus('FlowSchema'), 'Observed state.'),
  },
)
