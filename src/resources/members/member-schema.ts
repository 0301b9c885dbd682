import type { ObjectSchema } from '../../api/schema/schema.ts'

const conditionSchema: ObjectSchema = {
  type: 'object',
  definition: 'cluster.v1.MemberCondition',
  description: 'A condition of a member.',
  properties: {
    type: { type: 'string', description: 'Type of the condition: Ready.' },
    status: { type: 'string', description: 'Status of the condition: True, False or Unknown.' },
    lastTransitionTime: {
      type: 'string',
      format: 'date-time',
      always: true,
      description: 'Time of the last change of the status.',
    },
    reason: { type: 'string', description: 'Machine-readable reason, in CamelCase.' },
    message: { type: 'string', description: 'Human-readable message.' },
  },
  required: ['type', 'status'],
  protobuf: { type: 1, status: 2, lastTransitionTime: 3, reason: 4, message: 5 },
}

const specSchema: ObjectSchema = {
  type: 'object',
  definition: 'cluster.v1.MemberSpec',
  description: 'Desired state of a member.',
  properties: {
    role: {
      type: 'string',
      enum: ['Voter', 'Learner'],
      default: 'Voter',
      description: 'Desired role: a Voter is promoted once it has caught up; a Learner does not vote.',
    },
    peerAddress: { type: 'string', description: 'The host:port for other members.', lengthMax: 320 },
    clientAddress: { type: 'string', description: 'The host:port for clients.', lengthMax: 320 },
    replaces: {
      type: 'string',
      description: 'Name of the member that is removed when this one becomes a voter.',
      lengthMax: 63,
    },
  },
  protobuf: { role: 1, peerAddress: 2, clientAddress: 3, replaces: 4 },
  default: {},
}

export const lagDescription =
  'Committed log entries that the member is missing, as counted by the leader. While the member responds, fewer than 200 ' +
  'are shown as 0, because that many can be in flight at any time. A lower bound for a member that does not respond.'

const statusSchema: ObjectSchema = {
  type: 'object',
  definition: 'cluster.v1.MemberStatus',
  description: 'Observed state of a member, as seen by the leader; set by the server.',
  properties: {
    id: { type: 'string', description: 'Raft ID of the member, in decimal; unset before it has joined.' },
    role: { type: 'string', enum: ['Voter', 'Learner'], description: 'Current role.' },
    phase: {
      type: 'string',
      enum: ['Pending', 'Joining', 'Ready', 'NotReady', 'Removing'],
      description: 'Lifecycle phase: Pending, Joining, Ready, NotReady or Removing.',
    },
    leader: { type: 'boolean', zeroMatters: true, description: 'Whether the member is the leader.' },
    term: {
      type: 'integer',
      format: 'int64',
      zeroMatters: true,
      description: 'Last known Raft term.',
    },
    lag: {
      type: 'integer',
      format: 'int64',
      zeroMatters: true,
      description: lagDescription,
    },
    ready: {
      type: 'boolean',
      zeroMatters: true,
      description: 'Whether the member is connected to the leader, caught up, and in its role.',
    },
    version: { type: 'string', description: 'Version of the program.' },
    conditions: {
      type: 'list',
      items: conditionSchema,
      patchMergeKey: 'type',
      patchStrategy: 'merge',
      description: 'Conditions of the member.',
    },
  },
  protobuf: {
    id: 1,
    role: 2,
    phase: 3,
    leader: 4,
    term: 5,
    lag: 6,
    ready: 7,
    version: 8,
    conditions: 9,
  },
  default: {},
}

export const memberSchema: ObjectSchema = {
  type: 'object',
  definition: 'cluster.v1.Member',
  description: 'A member of the API server cluster, with its role and health.',
  properties: { spec: specSchema, status: statusSchema },
  protobuf: { spec: 2, status: 3 },
}
