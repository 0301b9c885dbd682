import { ageColumn, cellAt, nameColumn } from '../../registry/kinds/columns.ts'
import type { Cell, Column } from '../../registry/kinds/definition.ts'
import { lagDescription } from './member-schema.ts'

/** `kubectl get members` shows who leads at a glance, `-o wide` how to reach everyone. */
export const memberColumns: readonly Column[] = [
  nameColumn,
  {
    name: 'Role',
    type: 'string',
    description: 'Voter, or Learner; of a member that has not joined yet: what it is meant to become.',
    cell: (object) => orElse(cellAt(object, 'status', 'role'), cellAt(object, 'spec', 'role')),
  },
  {
    name: 'Leader',
    type: 'boolean',
    description: 'Whether it leads the cluster, as the leader itself says.',
    cell: (object) => orElse(cellAt(object, 'status', 'leader'), false),
  },
  {
    name: 'Term',
    type: 'integer',
    description: 'The last term in which it was heard of: each election begins another one.',
    cell: (object) => orElse(cellAt(object, 'status', 'term'), 0),
  },
  {
    name: 'Lag',
    type: 'integer',
    description: lagDescription,
    cell: (object) => orElse(cellAt(object, 'status', 'lag'), 0),
  },
  {
    name: 'Ready',
    type: 'boolean',
    description: 'Whether it is in touch with the leader, caught up, and has its role.',
    cell: (object) => orElse(cellAt(object, 'status', 'ready'), false),
  },
  {
    name: 'Version',
    type: 'string',
    description: 'Of the program it runs.',
    cell: (object) => cellAt(object, 'status', 'version'),
  },
  ageColumn,
  {
    name: 'Phase',
    type: 'string',
    priority: 1,
    description: 'Where it is in its life as a member.',
    cell: (object) => cellAt(object, 'status', 'phase'),
  },
  {
    name: 'Peer Address',
    type: 'string',
    priority: 1,
    description: 'What the other members dial.',
    cell: (object) => cellAt(object, 'spec', 'peerAddress'),
  },
  {
    name: 'Client Address',
    type: 'string',
    priority: 1,
    description: 'What clients dial.',
    cell: (object) => cellAt(object, 'spec', 'clientAddress'),
  },
]

function orElse(cell: Cell, other: Cell): Cell {
  return cell === '' ? other : cell
}
