! mpi_allreduce.f90 - a Fortran program whose MPI_Allreduce of gradients is replaced by Tithe.
!
! Least squares, the two tensors of examples/mpi_allreduce.c: a matrix W and an offset b. The lines that replace the
! all-reduce are marked.
!
!     mpifort include/tithe/tithe.f90 examples/mpi_allreduce.f90 $(pkg-config --libs tithe_mpi) -o mpi_allreduce
!     mpirun -n 3 ./mpi_allreduce

program least_squares
  use mpi
  use tithe
  implicit none
  integer, parameter :: outputs = 8, inputs = 100, rows = 200, steps = 600
  real(c_float), parameter :: step = 0.3
  real(c_float) :: x(inputs, rows), y(outputs, rows), truth(outputs, inputs + 1), half(inputs + 1)
  real(c_float) :: w(outputs, inputs), b(outputs), gw(outputs, inputs), gb(outputs)
  double precision :: before, dense, compressed, sent
  integer :: comm, rank, ranks, code, i

  call MPI_Init(code)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, code)
  call MPI_Comm_rank(comm, rank, code)
  call MPI_Comm_size(comm, ranks, code)
  call make_rows()

  w = 0; b = 0
  before = mean_loss()
  do i = 1, steps                                    ! as it was
     call gradient()
     call MPI_Allreduce(MPI_IN_PLACE, gw, size(gw), MPI_REAL, MPI_SUM, comm, code)
     call MPI_Allreduce(MPI_IN_PLACE, gb, size(gb), MPI_REAL, MPI_SUM, comm, code)
     w = w - step / ranks * gw
     b = b - step / ranks * gb
  end do
  dense = mean_loss()

  w = 0; b = 0
  call train_with_tithe(sent)
  compressed = mean_loss()

  if (rank == 0) then
     print '(a, es10.3)', 'loss before          ', before
     print '(a, es10.3, f12.0, a)', 'with MPI_Allreduce   ', dense, &
          2d0 * (ranks - 1) / ranks * steps * 4 * (size(gw) + size(gb)), ' bytes from each process'
     print '(a, es10.3, f12.0, a)', 'with Tithe           ', compressed, sent, ' bytes'
  end if
  call MPI_Comm_free(comm, code)
  call MPI_Finalize(code)
  if (compressed > 1d-3 * before) error stop 'that is not what was promised'

contains

  subroutine train_with_tithe(bytes)
    double precision, intent(out) :: bytes
    type(c_ptr) :: group                             ! tithe
    type(tithe_error) :: error                       ! tithe
    type(c_ptr) :: for_w, for_b                      ! tithe: one exchange for each tensor
    integer :: k
    call expect(tithe_comm_mpi_fortran(comm, group, error), error)
    call expect(tithe_exchange_open(group, 'codec=topk:keep=0.05|natural' // c_null_char, &
         size(gw, kind=c_size_t), for_w, error), error)
    call expect(tithe_exchange_open(group, c_null_char, &
         size(gb, kind=c_size_t), for_b, error), error)
    do k = 1, steps
       call gradient()
       call expect(tithe_exchange_step(for_w, gw, real(step, c_double), error), error)   ! tithe
       call expect(tithe_exchange_step(for_b, gb, real(step, c_double), error), error)   ! tithe
       w = w - gw                                    ! the mean and the step size are in it
       b = b - gb
    end do
    bytes = dble(tithe_comm_sent_bytes(group))
    call tithe_exchange_free(for_w)
    call tithe_exchange_free(for_b)
    call tithe_comm_free(group)
  end subroutine

  subroutine expect(status, error)
    integer(c_int), intent(in) :: status
    type(tithe_error), intent(in) :: error
    if (status == 0) return
    print '(2a)', 'mpi_allreduce: ', trim(tithe_error_text(error))
    call MPI_Abort(comm, 2, code)
  end subroutine

  ! Everybody has the same truth, and rows of its own.
  subroutine make_rows()
    integer(c_int64_t) :: state
    integer :: r, o
    state = 1
    do o = 1, outputs
       call fill(half, state)
       truth(o, :) = half
    end do
    state = 1000 + rank
    do r = 1, rows
       call fill(x(:, r), state)
       y(:, r) = matmul(truth(:, 1:inputs), x(:, r)) + truth(:, inputs + 1)
    end do
  end subroutine

  subroutine fill(v, state)
    real(c_float), intent(out) :: v(:)
    integer(c_int64_t), intent(inout) :: state
    integer :: j
    do j = 1, size(v)
       state = mod(state * 1664525_c_int64_t + 1013904223_c_int64_t, 4294967296_c_int64_t)
       v(j) = real(state / 256, c_float) / 8388608.0 - 1.0
    end do
  end subroutine

  subroutine gradient()
    real(c_float) :: miss(outputs)
    integer :: r, j
    gw = 0; gb = 0
    do r = 1, rows
       miss = (matmul(w, x(:, r)) + b - y(:, r)) / rows
       do j = 1, inputs
          gw(:, j) = gw(:, j) + miss * x(j, r)
       end do
       gb = gb + miss
    end do
  end subroutine

  double precision function mean_loss()
    integer :: r
    mean_loss = 0
    do r = 1, rows
       mean_loss = mean_loss + 0.5d0 * sum(dble(matmul(w, x(:, r)) + b - y(:, r))**2) / rows
    end do
    call MPI_Allreduce(MPI_IN_PLACE, mean_loss, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm, code)
    mean_loss = mean_loss / ranks
  end function
end program
