import { ageColumn, cellAt, nameColumn } from '../../registry/kinds/columns.ts'
import type { Cell, Column } from '../../registry/kinds/definition.ts'
import { lagDescription } from './member-schema.ts'

/** Columns of `kubectl get members`; phase and addresses are shown only with `-o wide`. */
export const memberColumns: readonly Column[] = [
  nameColumn,
  {
    name: 'Role',
    type: 'string',
    description: 'Role of the member: Voter or Learner; the desired role before it has joined.',
    cell: (object) => orElse(cellAt(object, 'status', 'role'), cellAt(object, 'spec', 'role')),
  },
  {
    name: 'Leader',
    type: 'boolean',
    description: 'Whether the member reports itself as leader.',
    cell: (object) => orElse(cellAt(object, 'status', 'leader'), false),
  },
  {
    name: 'Term',
    type: 'integer',
    description: 'Last known Raft term; each election begins a new term.',
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
    description: 'Whether the member is connected to the leader, caught up, and in its role.',
    cell: (object) => orElse(cellAt(object, 'status', 'ready'), false),
  },
  {
    name: 'Version',
    type: 'string',
    description: 'Version of the program.',
    cell: (object) => cellAt(object, 'status', 'version'),
  },
  ageColumn,
  {
    name: 'Phase',
    type: 'string',
    priority: 1,
    description: 'Lifecycle phase of the member.',
    cell: (object) => cellAt(object, 'status', 'phase'),
  },
  {
    name: 'Peer Address',
    type: 'string',
    priority: 1,
    description: 'Peer address of the member.',
    cell: (object) => cellAt(object, 'spec', 'peerAddress'),
  },
  {
    name: 'Client Address',
    type: 'string',
    priority: 1,
    description: 'Client address of the member.',
    cell: (object) => cellAt(object, 'spec', 'clientAddress'),
  },
]

function orElse(cell: Cell, other: Cell): Cell {
  return cell === '' ? other : cell
}
