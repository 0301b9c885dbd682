import type { ObjectSchema } from '../../api/schema/schema.ts'

const conditionSchema: ObjectSchema = {
  type: 'object',
  definition: 'cluster.v1.MemberCondition',
  description: 'One aspect of how a member is doing.',
  properties: {
    type: { type: 'string', description: 'Which aspect: Ready.' },
    status: { type: 'string', description: 'True, False or Unknown.' },
    lastTransitionTime: {
      type: 'string',
      format: 'date-time',
      always: true,
      description: 'When the status last changed.',
    },
    reason: { type: 'string', description: 'Why, in one word for programs.' },
    message: { type: 'string', description: 'Why, for people.' },
  },
  required: ['type', 'status'],
  protobuf: { type: 1, status: 2, lastTransitionTime: 3, reason: 4, message: 5 },
}

const specSchema: ObjectSchema = {
  type: 'object',
  definition: 'cluster.v1.MemberSpec',
  description: 'What a member is meant to be.',
  properties: {
    role: {
      type: 'string',
      enum: ['Voter', 'Learner'],
      default: 'Voter',
      description: 'Voter: promoted once it has caught up. Learner: it follows and serves, and never votes.',
    },
    peerAddress: { type: 'string', description: 'The host:port that other members dial.', lengthMax: 320 },
    clientAddress: { type: 'string', description: 'The host:port that clients dial.', lengthMax: 320 },
    replaces: {
      type: 'string',
      description: 'The member whose place it takes in the very change that makes it a voter.',
      lengthMax: 63,
    },
  },
  protobuf: { role: 1, peerAddress: 2, clientAddress: 3, replaces: 4 },
  default: {},
}

export const lagDescription =
  'Committed log entries that it lacks, as the leader counts them: 0 where they are fewer than 200, which are under way ' +
  'at any moment; of a member that is not heard of, at least so many.'

const statusSchema: ObjectSchema = {
  type: 'object',
  definition: 'cluster.v1.MemberStatus',
  description: 'What a member is, and how it is doing as the leader sees it; set by the server.',
  properties: {
    id: { type: 'string', description: 'Its identity for life, in decimal; none before it has joined.' },
    role: { type: 'string', enum: ['Voter', 'Learner'], description: 'What it is now.' },
    phase: {
      type: 'string',
      enum: ['Pending', 'Joining', 'Ready', 'NotReady', 'Removing'],
      description: 'Announced, on its way to its role, well, not well, or on its way out.',
    },
    leader: { type: 'boolean', zeroMatters: true, description: 'Whether it leads the cluster.' },
    term: {
      type: 'integer',
      format: 'int64',
      zeroMatters: true,
      description: 'The last term in which it was heard of.',
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
      description: 'In touch with the leader, caught up, and in its role.',
    },
    version: { type: 'string', description: 'Of the program it runs.' },
    conditions: {
      type: 'list',
      items: conditionSchema,
      patchMergeKey: 'type',
      patchStrategy: 'merge',
      description: 'Why it is well or not.',
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
  description: 'A member of the cluster: who belongs to it, who votes and who leads.',
  properties: { spec: specSchema, status: statusSchema },
  protobuf: { spec: 2, status: 3 },
}
